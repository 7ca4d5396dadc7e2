import type { UserOrdering } from "../../schemas/users.js";
import type { PageSelection } from "../contract/store.js";

// Pages of lists in SQL.

/** Each order has an index, which may be read backwards. */
export const USER_ORDERS: Record<UserOrdering, string> = {
  created: "created, id",
  "-created": "created DESC, id DESC",
  last_seen: "last_seen, id DESC",
  "-last_seen": "last_seen DESC, id",
};

/** The rows of a page. SQLite takes no offset beyond 64 bits, and a client may ask for any page. */
export const rangeOf = ({ page, pageSize }: PageSelection, count: number) => ({
  limit: pageSize,
  offset: Math.min((page - 1) * pageSize, count),
});

/**
 * The condition for the rows that follow a place. Its form, in which the first column alone gives
 * a range, lets both engines begin in the middle of the index of the order.
 * @param order as in ORDER BY.
 * @param parameter the parameter with the value of a column, counted from 0.
 * @param number of the column that it begins with.
 */
export function following(order: string, parameter: (index: number) => string, index = 0): string {
  const [column = "", ...rest] = order.split(", ");
  const [name = "", direction] = column.split(" ");
  const sign = direction === "DESC" ? "<" : ">";
  const value = parameter(index);
  if (rest.length === 0) return `${name} ${sign} ${value}`;
  const others = following(rest.join(", "), parameter, index + 1);
  return `${name} ${sign}= ${value} AND (${name} ${sign} ${value} OR (${others}))`;
}
