void f() { addOperations<Op>(); }
