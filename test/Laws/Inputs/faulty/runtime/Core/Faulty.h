#include "lib/Target/Plan.h"
#include "llvm/ADT/StringRef.h"
#include <cuda.h>
