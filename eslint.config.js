import tseslint from 'typescript-eslint'

export default tseslint.config(
  { ignores: ['**/lib/', '**/node_modules/', 'coverage/', 'eslint.config.js'] },
  tseslint.configs.strictTypeChecked,
  {
    // What is thrown in the wild is thrown here too.
    files: ['**/tests/**'],
    rules: { '@typescript-eslint/only-throw-error': 'off' },
  },
  {
    languageOptions: {
      parserOptions: { project: './tsconfig.check.json', tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      // Numbers, booleans and the branded ids read well in a template.
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      'max-len': ['error', { code: 140, ignoreUrls: true }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', caughtErrorsIgnorePattern: '^_' }],
    },
  },
)
