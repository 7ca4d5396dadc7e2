import type pg from "pg";
import { addressOf } from "../../../choice.js";
import { StoreError } from "../../../contract/store.js";
import { clientOf, configOf, end, open } from "./client.js";
import { refusal } from "./database.js";
import { explain } from "./errors.js";
import { expectVersion, versionOf } from "./upgrade.js";

/** How long a connection may take, in milliseconds. */
const CONNECT_TIMEOUT = 5000;

/** How long an answer may take, in milliseconds: an index of a large table takes minutes. */
const EXCHANGE_TIMEOUT = 3_600_000;

/**
 * A connection for long work. It is of no pool, and the server has no limits for it.
 * @throws {StoreError} `unusable` with one line for the operator.
 */
export async function connect(url: string): Promise<pg.Client> {
  const client = clientOf({ ...configOf(url, CONNECT_TIMEOUT), query_timeout: EXCHANGE_TIMEOUT });
  try {
    await open(client);
    // The server may have limits for all others.
    await client.query("SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0");
    return client;
  } catch (error) {
    await end(client);
    throw refusal(url, error);
  }
}

/**
 * A connection to a database that has the tables of this Foyer.
 * @throws {StoreError} `unusable` with one line for the operator.
 */
export async function connectToTables(url: string): Promise<pg.Client> {
  const client = await connect(url);
  try {
    if ((await versionOf(client)) === 0) {
      throw new StoreError("unusable", `there are no worlds in ${addressOf(url)}`);
    }
    await expectVersion(client);
    return client;
  } catch (error) {
    await end(client);
    return explain(error);
  }
}
