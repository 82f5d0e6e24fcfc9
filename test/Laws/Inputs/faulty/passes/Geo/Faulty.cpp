#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include <fstream>
auto none = FastMathFlags::none;
auto flags = FastMathFlags::contract;
llvm::cl::opt<bool> option("x");
void f() { llvm::errs() << "x"; }
