/*===-- FakeDriver.h - what tests tell the fake driver ------------*- C -*-===*\
|*                                                                            *|
|* Part of the Steep project, under the Apache License v2.0 with LLVM         *|
|* Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception        *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/
#ifndef STEEP_TEST_UNIT_TARGET_FAKEDRIVER_H
#define STEEP_TEST_UNIT_TARGET_FAKEDRIVER_H

void fake_set_capability(int value);
/* The launch of this number from now on fails. */
void fake_fail_launch(int number);
/* The image that was loaded last, and how many are loaded. */
const char *fake_loaded(void);
int fake_loads(void);
/* Is a context current? */
int fake_current(void);
/* The most dynamic shared memory of a launch. */
unsigned fake_shared(void);
/* Record launches instead of running them; run what was recorded. */
void fake_record(int on);
void fake_replay(void);
int fake_recorded(void);

/* Calls so far of entries that a step must not need: all but the launch and the
 * current context. */
int fake_other_calls(void);
/* Divisions of memory that were declared, and those not yet taken back. */
int fake_declared(void);
int fake_standing(void);

#endif /* STEEP_TEST_UNIT_TARGET_FAKEDRIVER_H */
