import vader from 'vader-sentiment';

export type Sentiment = 'POSITIVE' | 'NEGATIVE' | 'NEUTRAL';

/** The sentiment of a text. */
export interface SentimentResult {
  sentiment: Sentiment;
  /** From -1 (negative) to 1 (positive); 0 if the sentiment is unknown. */
  score: number;
}

/** Number of characters that are analysed. */
export const SENTIMENT_CHARACTERS = 1000;
const THRESHOLD = 0.3;
/**
 * Common words of English and of other languages. A text with more words of the second list is not
 * rated.
 */
const ENGLISH =
  'the and is are was were you your i we it to of for this that have has not with be at on my our will would can could they if as from what when but so an do please';
const OTHERS =
  'der die das und ist nicht ich wir sie für mit auf ein eine den dem zu es haben wurde sehr bei wird sind ' +
  'le la les des est une pas vous nous je pour dans avec que qui sur très mais votre merci du et au ' +
  'el los las es una por con para muy pero su está no lo se del yo gracias ' +
  'il gli che di non per sono questo questa molto con della è grazie ' +
  'het een en van niet ik wij voor met op zijn dat heel maar ' +
  'o os uma não com muito são obrigado em och att det som är inte jag vi på för med jest nie się to na że';
const SHARED = new Set(['no', 'to', 'so', 'do', 'an', 'as', 'me', 'on']);
const wordsIn = (text: string): string[] => text.toLowerCase().match(/\p{L}+/gu) ?? [];
const ENGLISH_WORDS = new Set(ENGLISH.split(' '));
const OTHER_WORDS = new Set(OTHERS.split(' ').filter((word) => !SHARED.has(word)));

/**
 * True if a text may be English: at most half of its words are in another script, and it has at
 * least as many common English words as common words of other languages.
 */
export function maybeEnglish(text: string): boolean {
  const words = wordsIn(text);
  if (words.length === 0) return false;
  const foreign = words.filter((word) => /[^\p{Script=Latin}]/u.test(word)).length;
  if (foreign * 2 > words.length) return false;
  const english = words.filter((word) => ENGLISH_WORDS.has(word)).length;
  const others = words.filter((word) => OTHER_WORDS.has(word) && !ENGLISH_WORDS.has(word)).length;
  return others <= english;
}

/**
 * Rates the sentiment of the first 1000 characters with an English lexicon (VADER). Text in other
 * languages is neutral.
 */
export function sentimentOf(text: string): SentimentResult {
  const analysed = text.slice(0, SENTIMENT_CHARACTERS);
  if (!maybeEnglish(analysed)) return { sentiment: 'NEUTRAL', score: 0 };
  const { compound } = vader.SentimentIntensityAnalyzer.polarity_scores(analysed);
  const score = Number.isFinite(compound) ? compound : 0;
  return {
    sentiment: score >= THRESHOLD ? 'POSITIVE' : score <= -THRESHOLD ? 'NEGATIVE' : 'NEUTRAL',
    score,
  };
}
