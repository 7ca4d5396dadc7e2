import { announcements } from "./announcements.js";
import { attendance } from "./attendance.js";

/** The domains that both engines bind, by their names in the store. */
export const domains = { announcements, attendance };

/** The name of a write among those of all domains, such as `announcements.create`. */
export type DomainWrite = {
  [
    Name in keyof typeof domains
  ]: `${Name}.${keyof (typeof domains)[Name]["parameters"] & string}`;
}[keyof typeof domains];
