import { Get, Res } from '@nestjs/common';
import type { Response } from 'express';
import { OperatorCapacity } from '../capacity/operator-capacity.ts';
import { ConsolePages } from './console-page.decorator.ts';
import { sendPage } from './console-response.ts';
import { capacityPage } from './pages/capacity.page.ts';

/** Sizes of the tables, their growth, and what is deleted. */
@ConsolePages('capacity')
export class ConsoleCapacityController {
  constructor(private readonly capacity: OperatorCapacity) {}

  @Get()
  async show(@Res() response: Response): Promise<void> {
    sendPage(response, capacityPage(await this.capacity.read()));
  }
}
