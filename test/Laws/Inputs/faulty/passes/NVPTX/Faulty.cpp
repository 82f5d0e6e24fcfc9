#include "dialects/Geo/Geo.h"
