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
 * Thread code for the analysis of texts and images (`NeuralThreads`). Node loads this file
 * directly, in tests as well, so it may import only modules whose types Node can strip.
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
      // Loaded only when needed, because its libraries are large and may not be installed.
      const { recognize } = await import('../ocr/recognize.ts');
      return recognize(request.input.bytes, request.input.pages);
    }
  }
}

/**
 * Runs one task on texts or a file. Errors in the input and missing packages are part of the reply.
 */
export async function answerNeural(request: TaskRequest): Promise<TaskReply> {
  try {
    return { output: await work(request) };
  } catch (error) {
    if (error instanceof RefusedInput) return { refused: error.message };
    if (error instanceof MissingPackage) return { missing: error.message };
    throw error;
  }
}
