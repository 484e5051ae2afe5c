import { applyDecorators, Controller, UseFilters } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { OperatorAccess } from '../access/operator-access.decorators.ts';
import { ConsoleFilter } from './console.filter.ts';

/**
 * A controller of pages for operators who have signed in. Handlers that change something need
 * `OperatorAccess('operate')`.
 */
export function ConsolePages(path = ''): ClassDecorator {
  return applyDecorators(
    Controller(path ? `console/${path}` : 'console'),
    ApiExcludeController(),
    OperatorAccess('read'),
    UseFilters(ConsoleFilter),
  );
}
