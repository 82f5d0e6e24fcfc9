#include "lion.h"
#include "llm.h"
#include "paper.h"

#include <stdio.h>

int main(void) {
  steep_plan paper = {.struct_size = sizeof paper};
  steep_plan lion = {.struct_size = sizeof lion};
  steep_plan llm = {.struct_size = sizeof llm};
  if (steep_paper_plan(&paper) || steep_lion_plan(&lion) || steep_llm_plan(&llm))
    return 1;
  printf("%s %d, %s %d, %s %d\n", paper.name, (int)paper.parameter_count,
         lion.name, (int)lion.parameter_count, llm.name,
         (int)llm.parameter_count);
  return 0;
}
