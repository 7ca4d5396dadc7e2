/**
 * Makes something of each record once, and keeps it as long as the record. Records are
 * frozen. The store gives the same object again for an unchanged record, unless it was
 * too large to be kept.
 */
export function oncePer<R extends object, T>(make: (record: R) => T): (record: R) => T {
  const made = new WeakMap<R, { readonly value: T }>();
  return (record) => {
    let known = made.get(record);
    if (!known) made.set(record, (known = { value: make(record) }));
    return known.value;
  };
}
