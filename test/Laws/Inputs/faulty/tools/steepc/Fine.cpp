#include "lib/Compiler/Pipelines.h"
#include "passes/Geo/Passes.h"
