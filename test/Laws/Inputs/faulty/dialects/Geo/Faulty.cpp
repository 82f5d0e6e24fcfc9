// A comment may name passes/Geo/Passes.h: #include "passes/Geo/Passes.h"
#include "passes/Geo/Passes.h"
