import { isReplySubject } from '../../../formats/text/subject.ts';
import { BULK_HEADERS, keptHeaders } from '../../messages/contents/kept-headers.ts';
import { textOfHtml } from './html-text.ts';

/**
 * `conversation`: a person wrote to people. `feed`: a machine sent the message to many recipients.
 */
export const CATEGORIES = ['conversation', 'feed'] as const;
export type Category = (typeof CATEGORIES)[number];

/** Subcategories of each category. A message may have several or none. */
export const SUBCATEGORIES = {
  conversation: ['reply', 'mailing-list', 'automatic-reply'],
  feed: [
    'newsletter',
    'promotion',
    'receipt',
    'notification',
    'social',
    'security',
    'calendar',
    'bounce',
  ],
} as const satisfies Record<Category, readonly string[]>;

/** The analysed parts of a message. */
export interface CategorizeInput {
  subject: string;
  /** HTML. */
  body: string;
  /** The header block as received; `null` if it was not kept. */
  headers: string | null;
  from: readonly { name?: string; email: string }[];
  to: readonly { name?: string; email: string }[];
  inReplyTo: string | null;
}

/** The result. A `score` above 0 means a feed, otherwise a conversation. */
export interface Categorized {
  category: Category;
  subcategories: string[];
  score: number;
}

const MOST_HTML = 100_000;
const MOST_TEXT = 4000;
const PLAIN = {
  ignoreLinks: true,
  ignoreImages: true,
  ignoreTables: true,
  imagesAsMarkdown: true,
} as const;

const ROBOT =
  /^(?:.*[._+-])?(?:no-?reply|do-?not-?reply|donotreply|newsletters?|notifications?|notify|alerts?|mailer|news|updates?|digest|marketing|offers?|deals?|promo(?:tion)?s?|bounces?|mailer-daemon|postmaster|automated|system|robot|billing|receipts?|orders?|invoices?|shipping|service|accounts?|security|members?|store|shop|hello|info|team|support)(?:[._+-].*)?$/;
const SURE_ROBOT =
  /(?:no-?reply|do-?not-?reply|donotreply|newsletter|notifications?|mailer-daemon|postmaster|bounces?)/;
const UNSUBSCRIBE =
  /unsubscribe|opt[ -]out|manage (?:your |my )?(?:email )?(?:preferences|subscriptions?|notifications?)|email preferences|view (?:this (?:email|message) )?(?:online|in (?:your|a) browser)|you(?:'re| are) receiving this|abmelden|abbestellen|désabonner|désinscrire|darse de baja|cancelar (?:la )?suscripción|disiscri|afmelden/i;
const GREETING =
  /^\s*(?:hi|hello|hey|dear|good (?:morning|afternoon|evening)|hallo|liebe[r]?|guten (?:tag|morgen)|bonjour|salut|hola|ciao|buongiorno|beste)\b/i;
const GENERIC_GREETING =
  /^\s*(?:hi|hello|dear|hey)(?: (?:there|customer|valued|member|user|subscriber|friend|shopper|reader)\b|[,!])/i;
const QUESTION_TO_YOU =
  /\b(?:can|could|would|will|do|did|are|have) you\b[^.!?\n]{0,200}\?|\blet me know\b|\bwhat do you think\b|\bshall we\b|\b(?:see|talk to|call) you\b|\bI(?:'ll|'ve| am| will| have| think| hope| just)\b/i;

const MAIL_SERVER = /^(?:mailer-daemon|postmaster)$/;
const AUTOMATIC =
  /^\s*(?:automatic reply|out of office|auto(?:matic)? ?response|abwesenheit|réponse automatique)/i;

const KINDS: readonly [string, RegExp][] = [
  [
    'receipt',
    /\b(?:receipt|invoice|order (?:confirmation|confirmed|#|no|number)|your order|payment (?:received|confirmation)|has (?:been )?shipped|shipment|tracking number|booking confirm\w*|your (?:booking|reservation|ticket)|rechnung|bestellung|facture|commande|factura|pedido)\b/i,
  ],
  [
    'security',
    /\b(?:verification code|one-time (?:code|password)|security (?:alert|code|notice)|new (?:sign-?in|login|device)|password (?:reset|was changed|has been changed)|reset your password|confirm your (?:email|account)|verify your (?:email|account|identity)|two-factor|bestätigungscode)\b/i,
  ],
  [
    'promotion',
    /(?:\d{1,2} ?% (?:off|rabatt|de descuento|de réduction)|\b(?:sale|discount|coupon|promo code|special offer|limited[- ]time|free shipping|shop now|deal of|save (?:up to )?[$€£]\d+|black friday|last chance|buy one|sonderangebot|rabatt|soldes|oferta|angebot)\b)/i,
  ],
  [
    'calendar',
    /\b(?:calendar (?:invitation|invite|reminder|notification)|invitation: |invited you to (?:an event|a meeting)|event reminder|rsvp|(?:accepted|declined|updated invitation): )/i,
  ],
  [
    'social',
    /\b(?:mentioned you|tagged you|new follower|started following|friend request|connection request|wants to connect|liked your|commented on your|invited you to connect|endorsed you|new connections?|posted (?:a|in))\b/i,
  ],
  [
    'newsletter',
    /\b(?:newsletter|weekly|digest|this week|monthly|issue (?:#|no\.? ?)?\d+|edition|round-?up|top stories|infolettre|wochenblick|boletín)\b/i,
  ],
  [
    'notification',
    /\b(?:alert|notification|reminder|status (?:update|change)|build (?:failed|passed|succeeded)|deploy(?:ed|ment)|backup|ticket (?:#|has been)|has been (?:assigned|updated|closed|created|resolved)|maintenance|due (?:soon|tomorrow|date)|report is ready|new (?:voicemail|message|comment)|storage)\b/i,
  ],
];

/** The fields of `keptHeaders` by lower-case name, with folded lines joined. */
function fieldsOf(block: string | null): Map<string, string> {
  const fields = new Map<string, string>();
  let name = '';
  for (const line of keptHeaders(block ?? '').split('\n')) {
    if (/^[ \t]/.test(line)) {
      if (name) fields.set(name, `${fields.get(name) ?? ''} ${line.trim()}`);
      continue;
    }
    const colon = line.indexOf(':');
    if (colon <= 0) continue;
    name = line.slice(0, colon).toLowerCase();
    fields.set(name, line.slice(colon + 1).trim());
  }
  return fields;
}

interface Features {
  fields: Map<string, string>;
  local: string;
  text: string;
  links: number;
  images: number;
  isReply: boolean;
  isDiscussion: boolean;
  isAutomatic: boolean;
}

function featuresOf(input: CategorizeInput): Features {
  const html = input.body.slice(0, MOST_HTML);
  const fields = fieldsOf(input.headers);
  const local = (input.from[0]?.email.split('@', 1)[0] ?? '').toLowerCase().slice(0, 64);
  const auto = fields.get('auto-submitted')?.toLowerCase() ?? 'no';
  const automatic =
    auto.startsWith('auto-replied') || fields.has('x-autoreply') || AUTOMATIC.test(input.subject);
  return {
    fields,
    local,
    text: textOfHtml(html, PLAIN).slice(0, MOST_TEXT),
    links: html.match(/<a\s/gi)?.length ?? 0,
    images: html.match(/<img\s/gi)?.length ?? 0,
    isReply: input.inReplyTo !== null || fields.has('in-reply-to') || isReplySubject(input.subject),
    isDiscussion: fields.has('list-post') && !/^no$/i.test(fields.get('list-post') ?? ''),
    // Mail servers also send automatic replies, but nobody can reply to them, so they are not
    // conversations.
    isAutomatic: automatic && !MAIL_SERVER.test(local),
  };
}

/**
 * Sum of the evidence for a feed (+) and for a conversation (-). The weights were chosen by hand on
 * the first half of the samples.
 */
function scoreOf(input: CategorizeInput, features: Features): number {
  const { fields, local, text, links, images } = features;
  const precedence = fields.get('precedence')?.toLowerCase() ?? '';
  const many = features.isDiscussion ? 0 : 1;
  const votes: [boolean, number][] = [
    [fields.has('list-unsubscribe'), 3 * many],
    [fields.has('list-id') && !features.isDiscussion, 1],
    [precedence === 'bulk' || precedence === 'list', 2 * many],
    [precedence === 'junk', 2],
    [(fields.get('auto-submitted') ?? 'no').toLowerCase() === 'auto-generated', 3],
    [[...fields.keys()].some((name) => BULK_HEADERS.test(name)), 1.5],
    [SURE_ROBOT.test(local), 3],
    [ROBOT.test(local), 1],
    [UNSUBSCRIBE.test(text), 2 * many],
    [images >= 3, 1],
    [links >= 8, 1],
    [input.from.length === 0, 1],
    [features.isReply, -2],
    [features.isDiscussion, -1],
    [features.isAutomatic, -4],
    [GREETING.test(text) && !GENERIC_GREETING.test(text), -1],
    [QUESTION_TO_YOU.test(text), -1],
    [links <= 2 && images <= 1, -0.5],
    [KINDS.some(([, pattern]) => pattern.test(input.subject)), 1],
  ];
  return votes.reduce((sum, [holds, weight]) => (holds ? sum + weight : sum), 0);
}

/**
 * Finds category and subcategories of a message from its headers and simple features of its text.
 */
export function categorize(input: CategorizeInput): Categorized {
  const features = featuresOf(input);
  const score = scoreOf(input, features);
  const category: Category = score > 0 ? 'feed' : 'conversation';
  return { category, score, subcategories: subcategoriesOf(category, input, features) };
}

function subcategoriesOf(category: Category, input: CategorizeInput, features: Features): string[] {
  if (category === 'conversation') {
    const { isReply, isDiscussion, isAutomatic } = features;
    return [
      ...(isAutomatic ? ['automatic-reply'] : isReply ? ['reply'] : []),
      ...(isDiscussion ? ['mailing-list'] : []),
    ];
  }
  if (MAIL_SERVER.test(features.local)) return ['bounce'];
  const inSubject = KINDS.filter(([, pattern]) => pattern.test(input.subject));
  // The subject is the better evidence: the text mentions many topics, so it adds one subcategory
  // at most.
  const found =
    inSubject.length > 0
      ? inSubject
      : KINDS.filter(([, pattern]) => pattern.test(features.text)).slice(0, 1);
  return found.map(([name]) => name);
}
