import { NO_ROWS, type RowCounts } from "../sqlite/inspection/inspection.js";
import type { TableRows } from "./manifest.js";

/** The row counts for reports to operators. */
export const rowCountsOf = (tables: readonly TableRows[]): RowCounts =>
  Object.fromEntries(
    Object.keys(NO_ROWS).map((counted) => [
      counted,
      tables.find(({ name }) => name === counted)!.rows,
    ]),
  ) as RowCounts;
