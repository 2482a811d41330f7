import tseslint from 'typescript-eslint'

export default tseslint.config(
  { ignores: ['**/lib/', '**/node_modules/', 'coverage/', 'eslint.config.js'] },
  tseslint.configs.strictTypeChecked,
  {
    // Spies take methods off their objects, and what is thrown in the wild is thrown here too.
    files: ['**/tests/**'],
    rules: { '@typescript-eslint/unbound-method': 'off', '@typescript-eslint/only-throw-error': 'off' },
  },
  {
    languageOptions: {
      parserOptions: { project: './tsconfig.check.json', tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      // `Promise.withResolvers<void>()` is what the language offers.
      '@typescript-eslint/no-invalid-void-type': 'off',
      // Numbers, booleans and the branded ids read well in a template.
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', caughtErrorsIgnorePattern: '^_' }],
    },
  },
)
