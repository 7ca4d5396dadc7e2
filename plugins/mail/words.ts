import type { ReminderKind } from "../../db/contract/mail-store.js";

/** The texts of mails in one language. Names and titles are inserted as plain text. */
export interface MailWords {
  /** The language tag for dates and screen readers. */
  readonly locale: string;
  readonly hello: (name: string) => string;
  readonly invitation: Texts;
  readonly reminder: Readonly<Record<ReminderKind, Texts>>;
  readonly login: Texts;
  readonly test: Texts;
  readonly when: string;
  readonly where: string;
  /** Shown below the button of a link that signs in whoever has it. */
  readonly personal: string;
  /** Shown below the button of an e-mailed login link. */
  readonly once: string;
  /** Introduces the URL for recipients whose mail client shows no button. */
  readonly orOpen: string;
  readonly questions: (contact: string) => string;
  /** Why the mail was sent. */
  readonly because: string;
  readonly becauseAsked: string;
  readonly becauseTest: string;
  readonly stop: string;
  /** The unsubscribe page. */
  readonly stopPage: {
    readonly title: string;
    readonly text: string;
    readonly button: string;
    readonly done: string;
    readonly unknown: string;
  };
}

/** The texts of one kind of mail. `when` is the formatted time of the event. */
interface Texts {
  readonly subject: (event: string, when: string) => string;
  readonly sentence: (event: string, when: string) => string;
  readonly button: string;
}

const en: MailWords = {
  locale: "en",
  hello: (name) => (name === "" ? "Hello," : `Hello ${name},`),
  invitation: {
    subject: (event) => `Your invitation to ${event}`,
    sentence: (event) => `You are invited to ${event}.`,
    button: "Open the event",
  },
  reminder: {
    day: {
      subject: (event, when) => `${event}: ${when}`,
      sentence: (event) => `${event} begins soon.`,
      button: "Open the event",
    },
    hour: {
      subject: (event) => `${event} is about to begin`,
      sentence: (event) => `${event} begins within the hour.`,
      button: "Open the event",
    },
  },
  login: {
    subject: (event) => `Your link to ${event}`,
    sentence: (event) => `Somebody, probably you, asked for a new link to ${event}.`,
    button: "Sign in",
  },
  test: {
    subject: (event) => `Test mail from ${event}`,
    sentence: (event) => `The server can send mails for ${event}. Invitations look like this one.`,
    button: "Open the event",
  },
  when: "When",
  where: "Where",
  personal: "This link is for you alone. Whoever has it can join under your name.",
  once: "The link works once, for 15 minutes. If you did not ask for it, you need not do anything.",
  orOpen: "Or open this address:",
  questions: (contact) => `Questions? ${contact}`,
  because: "You get this mail because the organizers invited you.",
  becauseAsked: "You get this mail because somebody entered your address on the event's page.",
  becauseTest: "You get this mail because an organizer tries out the mails of this event.",
  stop: "No more mails about this event:",
  stopPage: {
    title: "No more mails",
    text: "You will get no more invitations and reminders of this event. Your link keeps working.",
    button: "No more mails",
    done: "You will get no more mails about this event.",
    unknown: "This link is not valid anymore.",
  },
};

const de: MailWords = {
  locale: "de",
  hello: (name) => (name === "" ? "Guten Tag," : `Guten Tag ${name},`),
  invitation: {
    subject: (event) => `Ihre Einladung: ${event}`,
    sentence: (event) => `Sie sind eingeladen: ${event}.`,
    button: "Veranstaltung öffnen",
  },
  reminder: {
    day: {
      subject: (event, when) => `${event}: ${when}`,
      sentence: (event) => `bald beginnt: ${event}.`,
      button: "Veranstaltung öffnen",
    },
    hour: {
      subject: (event) => `Gleich beginnt: ${event}`,
      sentence: (event) => `in weniger als einer Stunde beginnt: ${event}.`,
      button: "Veranstaltung öffnen",
    },
  },
  login: {
    subject: (event) => `Ihr Link: ${event}`,
    sentence: (event) =>
      `jemand, wahrscheinlich Sie selbst, hat einen neuen Link angefordert: ${event}.`,
    button: "Anmelden",
  },
  test: {
    subject: (event) => `Testmail: ${event}`,
    sentence: (event) =>
      `der Server kann Mails für diese Veranstaltung verschicken: ${event}. Einladungen sehen aus wie diese Mail.`,
    button: "Veranstaltung öffnen",
  },
  when: "Wann",
  where: "Wo",
  personal: "Dieser Link ist nur für Sie bestimmt. Wer ihn hat, kann unter Ihrem Namen teilnehmen.",
  once: "Der Link funktioniert einmal, 15 Minuten lang. Wenn Sie ihn nicht angefordert haben, müssen Sie nichts tun.",
  orOpen: "Oder öffnen Sie diese Adresse:",
  questions: (contact) => `Fragen? ${contact}`,
  because: "Sie erhalten diese Mail, weil die Veranstalter Sie eingeladen haben.",
  becauseAsked:
    "Sie erhalten diese Mail, weil jemand Ihre Adresse auf der Seite der Veranstaltung eingegeben hat.",
  becauseTest:
    "Sie erhalten diese Mail, weil die Veranstalter die Mails dieser Veranstaltung ausprobieren.",
  stop: "Keine weiteren Mails zu dieser Veranstaltung:",
  stopPage: {
    title: "Keine Mails mehr",
    text: "Sie erhalten keine Einladungen und Erinnerungen zu dieser Veranstaltung mehr. Ihr Link funktioniert weiter.",
    button: "Keine Mails mehr",
    done: "Sie erhalten keine Mails zu dieser Veranstaltung mehr.",
    unknown: "Dieser Link ist nicht mehr gültig.",
  },
};

/** Returns the texts for a language tag. English is the default. */
export const wordsFor = (locale: unknown): MailWords =>
  typeof locale === "string" && /^de\b/i.test(locale) ? de : en;
