#include "dialects/Geo/Geo.h"
#include "passes/Geo/Passes.h"
