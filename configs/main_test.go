package configs

import "flag"

// update rewrites the golden files and the schema.
var update = flag.Bool("update", false, "rewrite golden files")
