// Their only effect is to make a language known.
declare module 'cronstrue/locales/*';
