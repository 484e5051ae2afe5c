import type { Categorized, CategorizeInput } from '../text/categorize.ts';
import type { CleanOptions, MessageInput } from '../text/clean-message.ts';
import type { SentimentResult } from '../text/sentiment.ts';
import type { Signature } from '../text/signature.ts';

/** A message to analyse. */
export type TextInput = MessageInput & { fromEmail: string };

/** The tasks of a thread, by name, with their input and output. */
export interface Tasks {
  sentiment: {
    input: { texts: readonly string[]; messages: readonly TextInput[]; careful: boolean };
    /** Results for the texts, then for the messages; `text` is the analysed part. */
    output: (SentimentResult & { text: string })[];
  };
  conversation: {
    input: { messages: readonly TextInput[]; options: CleanOptions; careful: boolean };
    output: string[];
  };
  signature: {
    input: {
      messages: readonly TextInput[];
      options: CleanOptions;
      parseContacts: boolean;
      careful: boolean;
    };
    output: Signature[];
  };
  categorize: {
    input: { messages: readonly CategorizeInput[]; careful: boolean };
    output: Categorized[];
  };
  ocr: {
    /** `pages`: page numbers from 1; `null` for the first five. */
    input: { bytes: Uint8Array; pages: readonly number[] | null };
    /** The text of each page. */
    output: string[];
  };
}
export type TaskName = keyof Tasks;

/** A request to a thread. */
export type TaskRequest = {
  [Name in TaskName]: { name: Name; input: Tasks[Name]['input'] };
}[TaskName];

/** A thread's reply. `refused`: the input is wrong. `missing`: this package is not installed. */
export type TaskReply =
  | { output: Tasks[TaskName]['output'] }
  | { refused: string }
  | { missing: string };

/** The task cannot process its input. The message is shown to the client. */
export class RefusedInput extends Error {
  override name = 'RefusedInput';
}

/** An optional package is not installed. The message is its name. */
export class MissingPackage extends Error {
  override name = 'MissingPackage';
}
