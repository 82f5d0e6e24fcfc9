#include "dialects/Block/Block.h"
