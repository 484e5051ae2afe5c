import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  Controller,
  Get,
  type INestApplication,
  Module,
  StreamableFile,
  UseGuards,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import express from 'express';
import { z } from 'zod';
import { DocumentedResponses, expectShape } from './response-shape.ts';

const account = z.object({ id: z.string(), name: z.string().optional() });
const stored = { id: 'a', name: 'Ada', secret: 'x' };

@Controller()
class Accounts {
  @Get('one')
  @UseGuards(expectShape(account))
  one() {
    return stored;
  }

  @Get('list')
  @UseGuards(expectShape(z.union([z.array(account), z.object({ count: z.number() })])))
  list() {
    return [stored, stored];
  }

  @Get('wrong')
  @UseGuards(expectShape(account))
  wrong() {
    return { id: 7, secret: 'x' };
  }

  @Get('file')
  @UseGuards(expectShape(account))
  file() {
    return new StreamableFile(Buffer.from('bytes'));
  }
}

@Module({ controllers: [Accounts] })
class AccountsModule {}

describe('DocumentedResponses', () => {
  let app: INestApplication;
  let url: string;

  beforeAll(async () => {
    app = await NestFactory.create(AccountsModule, new DocumentedResponses(express()), {
      logger: false,
    });
    await app.listen(0, '127.0.0.1');
    url = `http://127.0.0.1:${((app.getHttpServer() as Server).address() as AddressInfo).port}`;
  });
  afterAll(() => app.close());

  it('removes keys that the documented shape does not have', async () => {
    expect(await (await fetch(`${url}/one`)).json()).toEqual({ id: 'a', name: 'Ada' });
  });

  it('checks a list as a whole, in each of its views', async () => {
    expect(await (await fetch(`${url}/list`)).json()).toEqual(
      Array.from({ length: 2 }, () => ({ id: 'a', name: 'Ada' })),
    );
  });

  it('answers 500, without the value, if a response does not have its shape', async () => {
    const response = await fetch(`${url}/wrong`);
    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain('secret');
  });

  it('sends files unchanged', async () => {
    expect(await (await fetch(`${url}/file`)).text()).toBe('bytes');
  });
});
