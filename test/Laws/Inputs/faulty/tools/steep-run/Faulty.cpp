#include "lib/Compiler/Pipelines.h"
