# cmake -DINPUT=FILE -DOUTPUT=FILE.inc -DNAME=array -P Embed.cmake
# writes the bytes of INPUT as a C++ array.
file(READ ${INPUT} bytes HEX)
string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE ${OUTPUT} "static const unsigned char ${NAME}[] = {\n${bytes}\n};\n")
