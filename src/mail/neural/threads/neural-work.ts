import { categorize } from '../text/categorize.ts';
import { cleanConversation, partsOf } from '../text/clean-message.ts';
import { SENTIMENT_CHARACTERS, sentimentOf } from '../text/sentiment.ts';
import { signatureOf } from '../text/signature.ts';
import {
  MissingPackage,
  RefusedInput,
  type TaskReply,
  type TaskRequest,
  type Tasks,
} from './tasks.ts';

/*
 * What threads do with texts and images (`NeuralThreads`). Node loads this file as it is, in tests too: it may import only
 * what Node itself can strip of types.
 */

const PLAIN = {
  ignoreLinks: true,
  ignoreImages: true,
  ignoreTables: true,
  imagesAsMarkdown: true,
} as const;

function sentiments({
  texts,
  messages,
  careful,
}: Tasks['sentiment']['input']): Tasks['sentiment']['output'] {
  const written = messages.map((message) => partsOf(message, PLAIN, careful).text);
  return [...texts, ...written].map((text) => ({
    ...sentimentOf(text),
    text: text.slice(0, SENTIMENT_CHARACTERS).toWellFormed(),
  }));
}

async function work(request: TaskRequest): Promise<Tasks[keyof Tasks]['output']> {
  switch (request.name) {
    case 'sentiment':
      return sentiments(request.input);
    case 'conversation': {
      const { messages, options, careful } = request.input;
      return messages.map((message) => cleanConversation(message, options, careful));
    }
    case 'signature': {
      const { messages, options, parseContacts, careful } = request.input;
      return messages.map((message) => signatureOf(message, options, parseContacts, careful));
    }
    case 'categorize':
      return request.input.messages.map((message) => categorize(message));
    case 'ocr': {
      // Its libraries are large, and perhaps not there.
      const { recognize } = await import('../ocr/recognize.ts');
      return recognize(request.input.bytes, request.input.pages);
    }
  }
}

/** Does a piece of work on texts or on a file. Errors of the input and missing packages are part of the reply. */
export async function answerNeural(request: TaskRequest): Promise<TaskReply> {
  try {
    return { output: await work(request) };
  } catch (error) {
    if (error instanceof RefusedInput) return { refused: error.message };
    if (error instanceof MissingPackage) return { missing: error.message };
    throw error;
  }
}
