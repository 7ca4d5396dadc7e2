import type { SchemaPart } from "../copies/columns.js";
import { callTables } from "./call-tables.js";
import { chatTables } from "./chat-tables.js";
import { integrationTables } from "./integration-tables.js";
import { logTables } from "./log-tables.js";
import { mailTables } from "./mail-tables.js";
import { passkeyTables } from "./passkey-tables.js";
import { programTables } from "./program-tables.js";
import { reportTables } from "./report-tables.js";
import { voteTables } from "./vote-tables.js";
import { worldTables } from "./world-tables.js";

/** The SQL and the description of every table. No table refers to a table that comes after it. */
export const schema: SchemaPart = [
  ...worldTables,
  ...chatTables,
  ...voteTables,
  ...programTables,
  ...callTables,
  ...integrationTables,
  ...mailTables,
  ...passkeyTables,
  ...reportTables,
  ...logTables,
];
