// The tree of a parsed template.

package jinja

// statement is one of the types below that end in Stmt.
type statement interface{}

type (
	textStmt   struct{ text string }
	outputStmt struct{ value expression }
	ifStmt     struct {
		test        expression
		then, other []statement
	}
	forStmt struct {
		target      target
		iterable    expression
		filter      expression // nil for none
		body, other []statement
	}
	setStmt struct {
		target target
		value  expression
	}
	setBlockStmt struct { // also what a filter block is, without a target
		target  *target
		filters []filterExpr
		body    []statement
	}
	macroStmt struct {
		name string
		macro
	}
	callStmt struct { // {% call(…) m(…) %}: m can call its body as caller
		call   callExpr
		caller macro
	}
	withStmt struct {
		targets []target
		values  []expression
		body    []statement
	}
	scopeStmt    struct{ body []statement } // {% generation %}
	breakStmt    struct{}
	continueStmt struct{}
)

// macro is a body with parameters.
type macro struct {
	params   []string
	defaults []expression // of the last parameters
	body     []statement
	varargs  bool // the body reads varargs
	kwargs   bool // the body reads kwargs
}

// target is what is assigned to: a name, an attribute of a namespace, or several targets.
type target struct {
	name, attribute string
	parts           []target
}

// expression is one of the types below that end in Expr.
type expression interface{}

type (
	constExpr struct{ value any }
	nameExpr  struct{ name string }
	listExpr  struct {
		items []expression
		form  form
	}
	dictExpr struct{ keys, values []expression }
	attrExpr struct {
		object expression
		name   string
	}
	itemExpr  struct{ object, key expression }
	sliceExpr struct{ object, from, to, step expression } // nil where nothing stands
	callExpr  struct {
		callee expression
		args   callArgs
	}
	filterExpr struct {
		input expression // nil in a block
		name  string
		args  callArgs
	}
	testExpr struct {
		input expression
		name  string
		args  callArgs
	}
	notExpr  struct{ operand expression }
	signExpr struct {
		minus   bool
		operand expression
	}
	andExpr    struct{ left, right expression }
	orExpr     struct{ left, right expression }
	binaryExpr struct {
		op          string
		left, right expression
	}
	concatExpr  struct{ parts []expression }
	compareExpr struct {
		first expression
		ops   []string
		rest  []expression
	}
	condExpr struct{ test, then, other expression } // other is nil for none
)

// callArgs are the arguments of a call, a filter or a test.
type callArgs struct {
	values     []expression
	names      []string // of named
	named      []expression
	list, dict expression // *list and **dict; nil for none
}
