//! Popular packages, whose names are imitated, as data.

/// Packages of Python.
pub(crate) const PYTHON: &[&str] = &[
    "requests",
    "numpy",
    "pandas",
    "scipy",
    "django",
    "flask",
    "fastapi",
    "pydantic",
    "sqlalchemy",
    "boto3",
    "botocore",
    "urllib3",
    "setuptools",
    "cryptography",
    "pyyaml",
    "python-dateutil",
    "certifi",
    "click",
    "jinja2",
    "matplotlib",
    "pillow",
    "scikit-learn",
    "tensorflow",
    "torch",
    "transformers",
    "openai",
    "anthropic",
    "langchain",
    "beautifulsoup4",
    "selenium",
    "playwright",
    "pytest",
    "colorama",
    "tqdm",
    "aiohttp",
    "httpx",
    "psutil",
    "paramiko",
    "pycryptodome",
    "websockets",
    "discord.py",
    "telethon",
    "web3",
    "opencv-python",
    "openpyxl",
    "pypdf",
    "pdfplumber",
    "python-docx",
    "python-pptx",
    "lxml",
    "markdown",
    "redis",
    "celery",
    "uvicorn",
    "gunicorn",
    "rich",
    "typer",
    "attrs",
    "aiofiles",
    "alembic",
    "argparse",
    "asyncpg",
    "azure-identity",
    "azure-storage-blob",
    "black",
    "bcrypt",
    "chardet",
    "charset-normalizer",
    "chromadb",
    "cython",
    "dask",
    "docker",
    "ethereum",
    "eth-account",
    "faiss-cpu",
    "filelock",
    "fsspec",
    "google-api-python-client",
    "google-cloud-storage",
    "gradio",
    "graphviz",
    "grpcio",
    "huggingface-hub",
    "idna",
    "ipython",
    "jupyter",
    "keras",
    "kubernetes",
    "langchain-core",
    "litellm",
    "llama-index",
    "loguru",
    "markupsafe",
    "matplotlib-inline",
    "mypy",
    "mysql-connector-python",
    "networkx",
    "nltk",
    "notion-client",
    "ollama",
    "orjson",
    "packaging",
    "plotly",
    "poetry",
    "praw",
    "prometheus-client",
    "protobuf",
    "psycopg2",
    "psycopg2-binary",
    "pyautogui",
    "pygame",
    "pyinstaller",
    "pyjwt",
    "pymongo",
    "pymysql",
    "pymupdf",
    "pynput",
    "pyperclip",
    "pyserial",
    "python-dotenv",
    "python-telegram-bot",
    "pytz",
    "pywin32",
    "pyzmq",
    "qrcode",
    "reportlab",
    "scrapy",
    "seaborn",
    "sentence-transformers",
    "simplejson",
    "slack-sdk",
    "solana",
    "spacy",
    "starlette",
    "streamlit",
    "sympy",
    "tabulate",
    "tenacity",
    "termcolor",
    "tiktoken",
    "tomlkit",
    "torchvision",
    "tweepy",
    "typing-extensions",
    "virtualenv",
    "watchdog",
    "websocket-client",
    "werkzeug",
    "xgboost",
    "yfinance",
    "yt-dlp",
];
/// Packages of JavaScript.
pub(crate) const JAVASCRIPT: &[&str] = &[
    "express",
    "react",
    "react-dom",
    "lodash",
    "axios",
    "chalk",
    "commander",
    "typescript",
    "webpack",
    "eslint",
    "prettier",
    "next",
    "vite",
    "electron",
    "puppeteer",
    "playwright",
    "dotenv",
    "node-fetch",
    "socket.io",
    "mongoose",
    "cross-env",
    "nodemailer",
    "jsonwebtoken",
    "bcrypt",
    "moment",
    "dayjs",
    "uuid",
    "yargs",
    "inquirer",
    "rimraf",
    "nodemon",
    "jest",
    "mocha",
    "discord.js",
    "ethers",
    "web3",
    "tailwindcss",
    "openai",
    "zod",
    "prisma",
    "sharp",
    "semver",
    "glob",
    "debug",
    "@anthropic-ai/sdk",
    "ajv",
    "angular",
    "async",
    "babel-core",
    "bluebird",
    "body-parser",
    "browserify",
    "bs58",
    "cheerio",
    "classnames",
    "colors",
    "concurrently",
    "core-js",
    "cors",
    "cookie-parser",
    "crypto-js",
    "css-loader",
    "date-fns",
    "discord-api-types",
    "esbuild",
    "execa",
    "fastify",
    "firebase",
    "form-data",
    "fs-extra",
    "graphql",
    "gulp",
    "handlebars",
    "husky",
    "immer",
    "ioredis",
    "jquery",
    "js-yaml",
    "jsdom",
    "langchain",
    "lint-staged",
    "luxon",
    "marked",
    "minimist",
    "mkdirp",
    "mysql2",
    "nanoid",
    "node-telegram-bot-api",
    "octokit",
    "passport",
    "playwright-core",
    "postcss",
    "prop-types",
    "puppeteer-core",
    "react-router",
    "redis",
    "redux",
    "request",
    "rollup",
    "rxjs",
    "sequelize",
    "shelljs",
    "solc",
    "styled-components",
    "superagent",
    "svelte",
    "telegraf",
    "ts-node",
    "tslib",
    "turbo",
    "underscore",
    "validator",
    "viem",
    "vitest",
    "web3-utils",
    "webpack-cli",
    "winston",
    "xml2js",
];

/// The popular package that a name imitates: one letter is exchanged, added, left out, or two are swapped.
pub(crate) fn imitated(name: &str, known: &'static [&'static str]) -> Option<&'static str> {
    let name = name.to_ascii_lowercase().replace('_', "-");
    if name.len() < 5 || known.contains(&name.as_str()) {
        return None;
    }
    let plain = without_separators(&name);
    known.iter().copied().find(|known| {
        known.len() >= 5
            && (is_one_edit(&name, known)
                || name.len() >= 7
                    && plain == without_separators(known)
                    && name != *known
                    && !known.contains(['-', '.'])
                || is_adorned(&name, known))
    })
}

fn without_separators(name: &str) -> String {
    name.replace(['-', '.'], "")
}

/// Whether a name is a popular one with a word that makes it look official: `requests-official`, `python3-numpy`.
fn is_adorned(name: &str, known: &str) -> bool {
    const ENDS: &[&str] =
        &["-official", "-secure", "-safe", "-fixed", "-patched", "-real", "-genuine", "-lts"];
    const STARTS: &[&str] = &["real-", "official-", "secure-", "safe-"];
    ENDS.iter().any(|end| name.strip_suffix(end) == Some(known))
        || STARTS.iter().any(|start| name.strip_prefix(start) == Some(known))
}

/// Whether one edit makes the same of two names.
pub(crate) fn is_one_edit(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    if one.len().abs_diff(other.len()) > 1 || one == other {
        return false;
    }
    let same = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    let (rest, other_rest) = (&one[same..], &other[same..]);
    match (rest, other_rest) {
        ([], [_]) | ([_], []) => true,
        _ if rest.len() > other_rest.len() => &rest[1..] == other_rest,
        _ if rest.len() < other_rest.len() => rest == &other_rest[1..],
        _ => {
            rest[1..] == other_rest[1..]
                || (rest.len() >= 2
                    && rest[0] == other_rest[1]
                    && rest[1] == other_rest[0]
                    && rest[2..] == other_rest[2..])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_letter_is_an_imitation_and_another_word_is_not() {
        for name in ["reqeusts", "requets", "requestss", "numpi", "requests-official"] {
            assert!(imitated(name, PYTHON).is_some(), "{name}");
        }
        for name in ["requests", "request-cache", "torchvision", "flask-login"] {
            assert_eq!(imitated(name, PYTHON), None, "{name}");
        }
    }
}
