import { categorize } from '../../src/mail/neural/text/categorize.ts';
import { cleanConversation } from '../../src/mail/neural/text/clean-message.ts';
import { sentimentOf } from '../../src/mail/neural/text/sentiment.ts';
import { signatureOf } from '../../src/mail/neural/text/signature.ts';
import { DEVELOPMENT, HELD_OUT, inputOf, type MailSample } from './samples-mail.ts';
import { SENTIMENTS, TEXTS } from './samples-text.ts';

/** The share of results that agree with a person's judgement. */
export interface Accuracy {
  what: string;
  right: number;
  of: number;
  /** The results that differ, each with the expected one. */
  wrong: string[];
}

const OPTIONS = {
  ignoreLinks: true,
  ignoreImages: true,
  ignoreTables: true,
  imagesAsMarkdown: true,
  removeConclusionPhrases: true,
};

function compare<T>(
  what: string,
  samples: readonly T[],
  judge: (sample: T) => string | null,
): Accuracy {
  const wrong = samples.map(judge).filter((each) => each !== null);
  return { what, right: samples.length - wrong.length, of: samples.length, wrong };
}

const differs = (wanted: string, got: string): string | null =>
  wanted === got ? null : `${JSON.stringify(got)} instead of ${JSON.stringify(wanted)}`;

const category = (sample: MailSample) => {
  const { category: got, score } = categorize(inputOf(sample));
  return got === sample.category ? null : `${sample.subject}: ${got} (${score})`;
};

/** Measures every neural function with the composed samples. */
export function measure(): Accuracy[] {
  const kinds = [...DEVELOPMENT, ...HELD_OUT].filter(({ kind }) => kind !== undefined);
  return [
    compare('categories, development', DEVELOPMENT, category),
    compare('categories, held out', HELD_OUT, category),
    compare('subcategories', kinds, (sample) => {
      const { subcategories } = categorize(inputOf(sample));
      return subcategories.includes(sample.kind ?? '')
        ? null
        : `${sample.subject}: ${subcategories.join(', ')}`;
    }),
    compare('sentiment', SENTIMENTS, ([wanted, text]) => {
      const { sentiment, score } = sentimentOf(text);
      return sentiment === wanted ? null : `${text} ${sentiment} (${score})`;
    }),
    compare('conversation', TEXTS, ({ message, conversation }) =>
      differs(conversation, cleanConversation(message, OPTIONS)),
    ),
    compare('signature', TEXTS, ({ message, signature }) =>
      differs(
        signature,
        signatureOf({ ...message, fromEmail: 'bo@acme.example' }, OPTIONS, false).signature,
      ),
    ),
  ];
}
