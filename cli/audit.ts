import { Command, Option } from "commander";
import type { Store } from "../db/contract/store.js";
import { PAGE_SIZE } from "../db/results/results.js";
import { findWorld } from "../db/world-management.js";
import { csvRow } from "../schemas/plain/sheets/csv.js";
import { command, withStore } from "./command.js";
import { type JsonOption, printList, writeAll } from "./output.js";

const COLUMNS = [
  "id",
  "at",
  "kind",
  "user_id",
  "token_id",
  "type",
  "subject",
  "changes",
  "request_id",
];

interface AuditOptions extends JsonOption {
  format: "text" | "json" | "csv";
}

const listAudit = command(
  "list <world>",
  "print the audit of a world: privileged actions, newest first",
  "audit list summit --format csv",
)
  .addOption(
    new Option("--format <format>", "the format of the output")
      .choices(["text", "json", "csv"])
      .default("text"),
  )
  .option("--csv", "the same as --format csv")
  .action((world: string, { json, format, csv }: AuditOptions & { csv?: boolean }) =>
    withStore(async (store) => {
      await findWorld(store, world);
      const entries = await entriesOf(store, world);
      if (csv === true || format === "csv") return printCsv(entries);
      return printList(
        json ?? format === "json",
        entries,
        ({ at, by, type, subject, changes }) => [
          at,
          nameOf(by),
          type,
          Object.values(subject).join(" "),
          changes.map(({ field }) => field).join(", "),
        ],
        "The audit is empty.",
      );
    }),
  );

/** Yields all of a world's audit entries, newest first. Skips entries that are added during the iteration. */
async function entriesOf(store: Store, world: string) {
  const { shownEntries } = await import("../routes/audit.js");
  return (async function* () {
    let last = Infinity;
    for (let page = 1; ; page++) {
      const { entries } = await store.audit.list(world, { page, pageSize: PAGE_SIZE });
      const older = entries.filter(({ number }) => number < last);
      yield* await shownEntries(store, world, older);
      if (entries.length < PAGE_SIZE) return;
      last = entries.at(-1)!.number;
    }
  })();
}

type Shown = Awaited<ReturnType<typeof entriesOf>> extends AsyncGenerator<infer T> ? T : never;

const nameOf = (by: Shown["by"]): string =>
  by === null ? "" : "token_id" in by ? (by.token_id ?? by.user_id ?? by.kind) : by.kind;

const printCsv = (entries: AsyncIterable<Shown>) =>
  writeAll(
    (async function* () {
      yield csvRow(COLUMNS);
      for await (const { id, at, by, type, subject, changes, request_id } of entries) {
        const user = by && "token_id" in by ? by : undefined;
        yield csvRow([
          id,
          at,
          by?.kind ?? null,
          user?.user_id ?? null,
          user?.token_id ?? null,
          type,
          JSON.stringify(subject),
          JSON.stringify(changes),
          request_id,
        ]);
      }
    })(),
  );

/** `foyer audit …` */
export const auditCommand = new Command("audit")
  .description("print the audit of a world")
  .addCommand(listAudit);
