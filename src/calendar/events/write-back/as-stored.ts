import { Logger } from '@nestjs/common';
import type {
  CalendarPort,
  EventContent,
  ProviderAccount,
} from '../../../providers/port/connector.ts';

const log = new Logger('Event contents');

/**
 * Returns a function that converts content to what the provider would return for it
 * (`CalendarPort.asStored`). Content that the provider cannot store at all stays as it is.
 */
export function asStoredAt(
  port: CalendarPort,
  account: Pick<ProviderAccount, 'email' | 'name'>,
): (content: EventContent) => EventContent {
  return (content) => {
    try {
      return port.asStored?.(account, content) ?? content;
    } catch (error) {
      log.debug(error);
      return content;
    }
  };
}
