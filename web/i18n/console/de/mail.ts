import type { ConsolePages } from "../en/index.js";

export const words: ConsolePages["mail"] = {
  mail: {
    lead: "Einladungen, Erinnerungen und neue Links für alle, die ihren verloren haben.",
    server: "Versand",
    can: "Dieser Server verschickt Mails von {address}, höchstens {n} pro Minute.",
    cannot:
      "Dieser Server kann keine Mails verschicken. Wer ihn betreibt, kann einen Mailserver angeben: SMTP_URL, MAIL_FROM und PUBLIC_URL.",
    manual: "So richten Sie E-Mail ein",
    waiting: {
      one: "{n} Mail dieser Veranstaltung wartet.",
      other: "{n} Mails dieser Veranstaltung warten.",
    },
    failed: {
      one: "{n} konnte nicht zugestellt werden: siehe „Personen“.",
      other: "{n} konnten nicht zugestellt werden: siehe „Personen“.",
    },
    sendAll: "Alle noch nicht verschickten Einladungen verschicken",
    sendAllTitle: "Einladungen verschicken?",
    sendAllText:
      "Alle auf der Liste, die eine E-Mail-Adresse und noch keine Mail haben, bekommen eine, mit ihrem persönlichen Link.",
    sendAllYes: "Verschicken",
    queued: {
      one: "{n} Mail ist unterwegs.",
      other: "{n} Mails sind unterwegs.",
    },
    words: "Ihre Worte",
    subject: "Betreff von Einladungen",
    subjectDefault: "Ihre Einladung: {title}",
    text: "Text vor den Daten",
    textDefault: "Sie sind eingeladen: {title}.",
    textHint:
      "Jede Mail beginnt mit dem Namen der Person. Es folgen die Daten, ein Knopf mit dem persönlichen Link und Ihr Kontakt.",
    contact: "Kontakt",
    contactHint:
      "Eine E-Mail-Adresse, ein Link oder Worte. Steht in Mails und auf Seiten, die jemanden abweisen. Alle können ihn lesen.",
    reminders: "Erinnerungen",
    remind:
      "Allen Eingeladenen einen Tag und eine Stunde vor Beginn der Veranstaltung eine Mail schicken",
    noDates: "Die Veranstaltung hat noch keine Daten: tragen Sie sie unter „Programm“ ein.",
    test: "Testmail",
    testText:
      "Sehen Sie eine Einladung so, wie andere sie bekommen, und ob der Mailserver funktioniert.",
    testAddress: "Ihre E-Mail-Adresse",
    testSend: "Senden",
    testing: "Wird gesendet…",
    testSent:
      "Der Mailserver hat die Mail angenommen. Sehen Sie in Ihr Postfach, auch in den Spam-Ordner.",
    testWaits: "Die Mail wartet noch. Vielleicht sind Mails anderer Veranstaltungen vor ihr dran.",
    unreachable:
      "Der Mailserver lässt sich nicht benutzen. Wer ihn betreibt, findet den Grund im Protokoll des Servers.",
    unknown: "Die Verbindung ist abgebrochen. Die Mail kann angekommen sein oder nicht.",
    refused: "Der Mailserver hat die Mail abgelehnt: {answer}",
  },
};
