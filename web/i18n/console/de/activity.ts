import type { ConsolePages } from "../en/index.js";

export const words: ConsolePages["activity"] = {
  activity: {
    title: "Aktivität",
    connections: "Verbindungen",
    people: { one: "{n} Person", other: "{n} Personen" },
    messages: "Nachrichten pro Sekunde",
    slowReaders: "Getrennte langsame Verbindungen pro Sekunde",
    overdueErasure:
      "Was am {time} gelöscht wurde, ist noch in den Dateien der Datenbank des Servers. Das Protokoll des Servers sagt, warum.",
    slowTotal: { one: "{n} seit {time}", other: "{n} seit {time}" },
    audience: "Räume nach Publikum",
    nobody: "Niemand ist in einem Raum",
    nobodyText: "Räume, in denen Personen sind, erscheinen hier.",
    viewers: { one: "{n} Person", other: "{n} Personen" },
    unknownRoom: "Ein Raum, den Sie nicht sehen",
    span: "Die letzten 5 Minuten",
    between: "von {least} bis {most}",
    time: "Zeit",
    value: "Wert",
    unknown: "unbekannt",
    noData: "Warte auf Daten …",
    denied: "Ihr Link zeigt Ihnen das nicht.",
    offline: "Der Server antwortet nicht. Neuer Versuch …",
    restarted: "Gezählt wird seit {time}.",
  },
};
