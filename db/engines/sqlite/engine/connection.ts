import type Database from "better-sqlite3";

/** A connection to a database file. */
export type Connection = Database.Database;
