import { Get } from '@nestjs/common';
import { DomainError } from '../../platform/base/errors/domain-error.ts';
import { ConsolePages } from './console-page.decorator.ts';

/** Addresses below `/console` that no other controller serves. It has to be the last one. */
@ConsolePages()
export class ConsoleMissingController {
  @Get('{*path}')
  missing(): never {
    throw new DomainError(
      'console.no-page',
      'not-found',
      'The console has no page at this address. Start at the overview.',
    );
  }
}
