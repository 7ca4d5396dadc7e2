import {
  type AnyDomain,
  type BoundAll,
  boundWrites,
  type DomainLog,
  type EngineWrites,
} from "../../shared/domain.js";
import { domains, type DomainWrite } from "../../shared/index.js";
import type { Reading, Sql } from "../../shared/sql.js";
import type { Writer } from "./writer.js";

/**
 * The methods of all domains. Reads run on the event loop, and writes in the thread.
 * @param erasing runs a write whose old bytes have to leave the log.
 */
export function boundDomains(
  sql: Reading,
  writer: Writer,
  erasing: <T>(write: () => Promise<T>) => Promise<T>,
): BoundAll<typeof domains> {
  const bind = (name: string, one: AnyDomain) => {
    const erases = new Set(one.erasing as readonly string[] | undefined);
    return {
      ...one.reads(sql),
      ...boundWrites(one, (write, args, by) => {
        const run = () =>
          writer.runOfDomain(`${name}.${write}` as DomainWrite, by, args);
        return erases.has(write) ? erasing(run) : run();
      }),
    };
  };
  return Object.fromEntries(
    Object.entries(domains).map(([name, one]) => [name, bind(name, one)]),
  ) as BoundAll<typeof domains>;
}

/** The writes of all domains by their names in the thread. Each runs inside a transaction of its caller. */
export function domainWrites(
  sql: Sql,
  log: DomainLog,
  own: EngineWrites,
): Record<DomainWrite, (...args: never[]) => Promise<unknown>> {
  const named = Object.entries(domains).flatMap(
    ([name, one]: [string, AnyDomain]) =>
      Object.entries(one.writes(sql, log, own) as object).map(
        ([write, run]) => [`${name}.${write}`, run as unknown],
      ),
  );
  return Object.fromEntries(named) as ReturnType<typeof domainWrites>;
}
