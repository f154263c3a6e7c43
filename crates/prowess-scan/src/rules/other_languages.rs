//! What orders consist of in languages other than English: verbs and objects, which rules look for beside each other.
//!
//! A pattern for each sentence would need the grammar of each language. Attacks have parts that no grammar hides: a password
//! beside an archive, a secret beside a verb of sending and an address, a person who is not to be told.

use super::exfiltration_order::SECRET_NAME;
use super::fake_prerequisite::{ARCHIVE, PAGE};
use crate::known::hosts;
use crate::phrase::{Hit, phrases};
use crate::subject::Subject;

phrases! {
    PASSWORD: ["contrasena", "kennwort", "passwort", "mot de passe", "senha ", "senha:", "parola d'ordine", "wachtwoord", "haslo", "sifre", "kata sandi", "mat khau", "密码", "密碼", "口令", "пароль", "パスワード", "비밀번호", "암호", "كلمة المرور", "كلمة السر", "पासवर्ड", "jelszo", "heslo", "losenord", "adgangskode", "passord", "salasana", "κωδικ", "parola "]
        => "";
    DOWNLOAD: ["descarg", "herunterlad", "herunterzuladen", "laden sie", "lade ", "ladt", "telecharg", "baixe", "baixar", "下载", "下載", "скача", "загрузи", "ダウンロード", "다운로드", "scaric", "pobierz", "indir", "unduh", "tai xuong", "tai ve", "download", "تحميل", "تنزيل", "डाउनलोड", "laddar", "ladda ner", "hent ", "lataa", "stahn", "letolt", "descarca", "завантаж", "κατεβα"]
        => "";
    RUN: ["ejecut", "starten", "starte ", "ausfuhr", "fuhren sie", "execut", "lancez", "lancer", "运行", "執行", "执行", "打开", "启动", "安装", "запуст", "установ", "выполни", "実行", "起動", "インストール", "실행", "설치", "esegui", "uruchom", "calistir", "jalankan", "voer ", "تشغيل", "abra ", "abrir", "avvia", "start het", "start de ", "voer uit", "uitvoeren", "चलाएं", "instale", "installieren", "kor programmet", "kor filen", "kjor ", "suorita", "spust", "futtas", "ruleaza", "εκτελ"]
        => "";
    COPY: ["copie", "copia ", "copiez", "pegue", "pega ", "peguelo", "kopier", "fugen sie", "einfug", "collez", "cole no", "cole-o", "e cole", "复制", "複製", "粘贴", "貼上", "скопируй", "вставьте", "вставь", "コピー", "貼り付け", "복사", "붙여", "incolla", "wklej", "skopiuj", "yapistir", "salin", "tempel", "plak ", "انسخ", "الصق"]
        => "";
    TERMINAL: ["terminal", "consola", "konsole", "console", "终端", "終端", "命令行", "терминал", "консол", "командн", "ターミナル", "コマンドプロンプト", "터미널", "powershell", "eingabeaufforderung", "simbolo del sistema", "invite de commandes", "linea de comandos", "prompt de comando", "الطرفية"]
        => "";
    NEEDED: ["requisito", "requerid", "obligator", "necesari", "necessari", "imprescindible", "antes de usar", "voraussetzung", "erforderlich", "notwendig", "nur, wenn", "bevor sie", "zuerst", "muss ", "prerequis", "obligatoire", "exige", "necessite", "avant d", "precisa", "前置条件", "必须", "必須", "先安装", "需要先", "使用前", "之前", "требован", "необходим", "обязательно", "перед ", "сначала", "без него", "前提条件", "必要", "필수", "필요", "richiest", "prima di", "wymagan", "gerekli", "diperlukan", "vereist", "مطلوب"]
        => "";
    SEND: ["envie", "enviar", "envia ", "envialo", "envielo", "mande ", "mandar", "suba ", "senden", "sende ", "schicke", "ubermittel", "ubertrag", "lade sie hoch", "hochlad", "laden sie hoch", "envoy", "transmet", "televers", "发送", "上传", "傳送", "上傳", "提交到", "传到", "отправ", "передай", "перешли", "выгруз", "送信", "アップロード", "転送", "전송", "보내", "업로드", "invia", "inviare", "trasmett", "wyslij", "przeslij", "gonder", "kirim", "verstuur", "stuur ", "أرسل", "ارسل", "gui ", "भेज"]
        => "";
    SECRET: ["clave privada", "claves privadas", "clave ssh", "credenciales", "contrasenas", "tokens de acceso", "privaten schlussel", "geheime schlussel", "zugangsdaten", "passworter", "cle privee", "cles privees", "identifiants", "mots de passe", "chave privada", "credenciais", "senhas", "chiavi private", "credenziali", "私钥", "密钥", "私鑰", "凭据", "凭证", "令牌", "助记词", "密码", "环境变量", "приватный ключ", "закрытый ключ", "учетные данные", "пароли", "токен", "переменные окружения", "秘密鍵", "認証情報", "パスワード", "環境変数", "개인 키", "자격 증명", "비밀번호", "환경 변수", "klucz prywatny", "ozel anahtar", "المفتاح الخاص"]
        => "";
    READ: ["读取", "读出", "读一下", "收集", "窃取", "获取用户", "lea ", "lee ", "leer", "lies ", "lesen", "lire", "lisez", "lis ", "leggi", "leia", "ler ", "прочита", "прочти", "считай", "собери", "読み取", "読んで", "収集", "읽고", "읽어", "수집", "odczytaj", "przeczytaj", "recopil", "reuna", "sammel", "sammle", "recueill", "raccogl", "okuyun", "kumpulkan", "اقرأ", "اجمع"]
        => "";
    UNTOLD: ["no se lo diga", "no le diga", "no se lo digas", "no le digas", "no informe al usuario", "no informes al usuario", "no avise al usuario", "no avises al usuario", "no menciones esto", "no mencione est", "sin que el usuario", "sin avisar", "sin informar", "sin decir", "ocult", "nicht erwahn", "erwahnen sie das", "erwahne das", "erwahne dies", "ohne den benutzer", "ohne dass der benutzer", "ohne den nutzer", "ohne wissen", "sagen sie dem benutzer nicht", "sag dem benutzer nicht", "verschweig", "heimlich", "n'en parlez pas", "n'en parle pas", "sans informer", "sans prevenir", "sans que l'utilisateur", "ne le dites pas", "ne dites rien", "ne mentionnez pas", "a l'insu", "不要告诉", "不要告訴", "不要向用户", "不要让用户", "不要提及", "不要提到", "别告诉", "别让用户", "无需告知", "瞒着", "隐瞒", "不得告知", "不通知用户", "悄悄", "не сообщай", "не говори", "не упомина", "без ведома", "скрой", "скрыва", "незаметно", "втайне", "伝えない", "知らせない", "言わない", "内緒", "気付かれ", "気づかれ", "알리지", "말하지 마", "몰래", "언급하지", "nao diga ao", "nao informe", "nao avise", "nao mencione", "nao conte", "sem avisar", "sem o conhecimento", "sem informar", "as escondidas", "non dire all", "non dirlo", "non informare", "non menzionare", "senza avvisare", "senza informare", "di nascosto", "nie mow", "nie informuj", "bez wiedzy", "soyleme", "haber verme", "jangan beri tahu", "vertel het niet", "zonder medeweten", "لا تخبر", "دون علم"]
        => "";
    EVER_AFTER: ["todas las sesiones futuras", "en todas las sesiones", "en sesiones futuras", "memoria permanente", "allen kunftigen sitzungen", "allen zukunftigen", "dauerhaft in dein", "toutes les sessions futures", "memoire permanente", "todas as sessoes futuras", "写入你的记忆", "写入记忆", "永久记住", "永久写入", "以后所有会话", "所有后续会话", "今后所有", "во всех будущих", "во всех следующих", "навсегда запомни", "запомни навсегда", "今後のすべて", "永久に記憶", "이후 모든", "앞으로 모든", "tutte le sessioni future"]
        => "";
    NOT: ["no debe", "nunca ", "no envie", "no envies", "niemals", "nicht senden", "nicht ", "keine ", "jamais", "ne pas", "n'envoyez pas", "不要", "请勿", "切勿", "禁止", "不得", "никогда", "не отправ", "нельзя", "しないで", "禁止", "절대", "하지 마", "nao envie", "non inviare", "mai ", "nigdy", "asla", "لا ترسل"]
        => "";
}

/// Whether words stand in the units around a hit.
fn has(
    subject: &Subject<'_>,
    hit: &Hit,
    reach: usize,
    phrase: &'static crate::phrase::Phrase,
) -> bool {
    subject.near(hit, reach, reach, &[phrase]).is_some()
}

/// An address near a hit that is neither this machine nor a known project.
fn unknown_address(subject: &Subject<'_>, hit: &Hit, reach: usize) -> bool {
    let document = subject.document(hit);
    let Some(unit) = document.unit_at(hit.view.start) else { return false };
    let range = document.around(unit, reach, reach);
    subject.hits(&PAGE).iter().any(|page| {
        page.document == hit.document
            && range.start <= page.view.start
            && page.view.end <= range.end
            && hosts::standing(&document.view.text[page.view.clone()]) != hosts::Standing::Known
    })
}

/// Passwords of archives that have to be downloaded and run.
pub(super) fn locked_archives<'s>(subject: &'s Subject<'_>) -> impl Iterator<Item = &'s Hit> {
    subject.hits(&PASSWORD).iter().filter(|hit| {
        has(subject, hit, 0, &ARCHIVE)
            && has(subject, hit, 4, &DOWNLOAD)
            && has(subject, hit, 4, &RUN)
    })
}

/// Orders to paste a command from a page into a terminal, because something needs it.
pub(super) fn pasted_commands<'s>(subject: &'s Subject<'_>) -> impl Iterator<Item = &'s Hit> {
    subject.hits(&COPY).iter().filter(|hit| {
        has(subject, hit, 0, &TERMINAL)
            && unknown_address(subject, hit, 0)
            && has(subject, hit, 6, &NEEDED)
    })
}

/// Orders to send a secret to an address.
pub(super) fn sent_secrets<'s>(subject: &'s Subject<'_>) -> impl Iterator<Item = &'s Hit> {
    subject.hits(&SEND).iter().filter(|hit| {
        // A secret by its file is one; a word for it also stands in every description of an interface.
        (has(subject, hit, 1, &SECRET_NAME)
            || has(subject, hit, 0, &SECRET) && has(subject, hit, 0, &READ))
            && unknown_address(subject, hit, 0)
            && !is_denied(subject, hit)
    })
}

/// Orders to keep something from the user, and whether something worth hiding stands beside them.
pub(super) fn kept_secret<'s>(subject: &'s Subject<'_>) -> impl Iterator<Item = (&'s Hit, bool)> {
    subject.hits(&UNTOLD).iter().map(|hit| {
        let reason: &[&'static crate::phrase::Phrase] =
            &[&SEND, &SECRET_NAME, &EVER_AFTER, &RUN, &PAGE];
        (hit, subject.near(hit, 2, 1, reason).is_some())
    })
}

/// Orders to keep something for all later sessions.
pub(super) fn kept_forever<'s>(subject: &'s Subject<'_>) -> impl Iterator<Item = &'s Hit> {
    subject
        .hits(&EVER_AFTER)
        .iter()
        .filter(|hit| subject.near(hit, 1, 2, &[&UNTOLD, &SEND, &RUN]).is_some())
}

/// Whether the words just before a verb deny it.
fn is_denied(subject: &Subject<'_>, hit: &Hit) -> bool {
    let document = subject.document(hit);
    let Some(unit) = document.unit_at(hit.view.start) else { return false };
    let start = hit.view.start.saturating_sub(30).max(unit.view.start);
    let start = (0..=start)
        .rev()
        .find(|at| document.view.text.is_char_boundary(*at))
        .unwrap_or(unit.view.start);
    let end = (hit.view.end + 8).min(document.view.text.len());
    subject.any_in(hit.document, &(start..end), &[&NOT]).is_some()
}
