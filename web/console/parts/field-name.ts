import { type Key, t } from "../../i18n/index.js";

/** The labels of a record's fields, in forms and in the history. */
export type FieldNames = Readonly<Record<string, Key>>;

/** Returns a field's label, or the field itself if it has none. */
export const fieldName = (names: FieldNames, field: string): string =>
  Object.hasOwn(names, field) ? t(names[field]!) : field.replace(/^config\./, "");
