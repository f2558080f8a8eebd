"use strict";
/** Where the program is. */
exports.program = require("node:path").join(__dirname, "bin", "callgate");
