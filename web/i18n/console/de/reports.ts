import type { ConsolePages } from "../en/index.js";

export const words: ConsolePages["reports"] = {
  reports: {
    lead: "Was Personen der Moderation gemeldet haben, so wie es dabei aussah. Niemand erfährt, von wem eine Meldung kommt.",
    show: "Anzeigen",
    open: "Offen",
    all: "Alle",
    room: "Raum",
    allRooms: "Alle Räume",
    none: "Keine offenen Meldungen",
    never: "Keine Meldungen",
    noneText: "Nachrichten, Fragen und Personen lassen sich in ihrem Menü melden.",
    more: "Mehr anzeigen",
    message: "Nachricht",
    question: "Frage",
    user: "Person",
    by: "von {name}",
    direct: "Direktnachricht",
    count: { one: "Von {n} Person gemeldet", other: "Von {n} Personen gemeldet" },
    moreOf: { one: "Und {n} weitere.", other: "Und {n} weitere." },
    erased: "Eine Person, deren Daten gelöscht sind",
    gone: "Inzwischen gelöscht.",
    dismiss: "In Ordnung",
    deletedTitle: "Löschen?",
    deletedText: "Es verschwindet für alle. Alle Meldungen dazu sind damit erledigt.",
    silencedTitle: "{name} stummschalten?",
    silencedText:
      "Die Person kann weiterhin lesen, aber nicht mehr schreiben, reagieren, abstimmen oder fragen, bis Sie es unter „Personen“ aufheben. Alle Meldungen dazu sind damit erledigt.",
    bannedTitle: "{name} ausschließen?",
    bannedText:
      "Die Person wird sofort entfernt und kann so nicht wiederkommen. Alle Meldungen dazu sind damit erledigt.",
    state_open: "Offen",
    state_dismissed: "In Ordnung",
    state_deleted: "Gelöscht",
    state_silenced: "Stummgeschaltet",
    state_banned: "Ausgeschlossen",
    resolvedBy: "von {name}",
    words: "Gesperrte Wörter",
    wordsText:
      "Im Chat, in Fragen, in Namen und in Antworten auf Umfragen. Die Moderation darf sie im Chat und in Fragen schreiben.",
    wordsField: "Wörter, eines pro Zeile",
    wordsHint:
      "Ganze Wörter, groß oder klein und in jeder Schreibweise der Buchstaben. Ein Stern steht für beliebige Buchstaben: „spam*“ sperrt auch „spammer“.",
    wordsThen: "Wer eines davon schreibt,",
    words_hold: "wartet auf die Moderation",
    words_holdText:
      "Nachrichten und Fragen warten in der Regieansicht, bis die Moderation entscheidet. Namen und Antworten auf Umfragen werden abgelehnt.",
    words_refuse: "wird gebeten, etwas anderes zu schreiben",
    words_refuseText: "Der Text wird abgelehnt, ohne das Wort zu nennen.",
    badWord:
      "„{word}“ kann nicht auf die Liste: Ein Wort hat 2 bis 64 Zeichen, darunter mindestens einen Buchstaben oder eine Ziffer.",
    tooManyWords: "Das sind {n} Wörter; möglich sind {most}.",
  },
};
