//! PostgreSQL's words in other languages than English (`lc_messages`), for failures that pass.
//!
//! Diesel tells few of PostgreSQL's codes, and a session may set another language only with a right
//! that a node need not have. The words are those of PostgreSQL's own catalogues.

use crate::error::FailureClass::{self, ConnectionLost, Deadlock, InsufficientResources, LockWait};

/// Parts of messages, and the classes of the failures.
pub(super) const TRANSLATED: &[(&str, FailureClass)] = &[
    // The English word, in German, Spanish, French, Italian, Korean and Swedish.
    ("deadlock", Deadlock),
    // German.
    ("wegen Zeitüberschreitung einer Sperre", LockWait),
    ("wegen Zeitüberschreitung der Anfrage", LockWait),
    ("gecachter Plan darf den Ergebnistyp nicht ändern", ConnectionLost),
    ("« nicht erweitern: ", InsufficientResources),
    ("Speicher aufgebraucht", InsufficientResources),
    ("Shared Memory aufgebraucht", InsufficientResources),
    // Spanish.
    ("debido a que se agotó el tiempo de espera de", LockWait),
    ("el plan almacenado no debe cambiar el tipo de resultado", ConnectionLost),
    ("no se pudo extender el archivo", InsufficientResources),
    ("memoria agotada", InsufficientResources),
    ("memoria compartida agotada", InsufficientResources),
    // French.
    ("à cause du délai écoulé pour", LockWait),
    ("le plan en cache ne doit pas modifier le type en résultat", ConnectionLost),
    ("n'a pas pu étendre le fichier", InsufficientResources),
    ("mémoire épuisée", InsufficientResources),
    ("mémoire partagée épuisée", InsufficientResources),
    // Italian.
    ("a causa di timeout", LockWait),
    ("il cached plan non deve cambiare il tipo del risultato", ConnectionLost),
    ("non è stato possibile estendere il file", InsufficientResources),
    ("memoria esaurita", InsufficientResources),
    ("memoria condivisa esaurita", InsufficientResources),
    // Japanese.
    ("デッドロックを検出しました", Deadlock),
    ("のタイムアウトのためステートメントをキャンセル", LockWait),
    ("キャッシュした実行計画は結果型を変更してはなりません", ConnectionLost),
    ("を拡張できませんでした: ", InsufficientResources),
    ("メモリ不足です", InsufficientResources),
    ("共有メモリが足りません", InsufficientResources),
    // Georgian.
    ("ნაპოვნია ურთიერთბლოკირება", Deadlock),
    ("ბლოკის მოლოდინის ვადის ამოწურვის გამო", LockWait),
    ("დაკეშილი გეგმა შედეგის ტიპს არ უნდა ცვლიდეს", ConnectionLost),
    ("ფაილის გაფართოების შეცდომა", InsufficientResources),
    ("არასაკმარისი მეხსიერება", InsufficientResources),
    ("არასაკმარისი გაზიარებული მეხსიერება", InsufficientResources),
    // Korean.
    ("시간 초과로 작업을 취소합니다", LockWait),
    ("캐시된 계획에서 결과 형식을 바꾸지 않아야 함", ConnectionLost),
    ("파일을 확장할 수 없음: ", InsufficientResources),
    ("메모리 부족", InsufficientResources),
    // Russian.
    ("обнаружена взаимоблокировка", Deadlock),
    ("оператора отменено из-за тайм-аута", LockWait),
    ("в кешированном плане не должен изменяться тип результата", ConnectionLost),
    ("не удалось увеличить файл", InsufficientResources),
    ("нехватка памяти", InsufficientResources),
    ("нехватка разделяемой памяти", InsufficientResources),
    // Swedish.
    ("avbryter sats på grund av lås-timeout", LockWait),
    ("avbryter sats på grund av sats-timeout", LockWait),
    ("cache:ad plan får inte ändra resultattyp", ConnectionLost),
    ("kunde inte utöka fil", InsufficientResources),
    ("slut på minne", InsufficientResources),
    ("slut på delat minne", InsufficientResources),
    // Ukrainian.
    ("виявлено взаємне блокування", Deadlock),
    ("оператора скасовано через тайм-аут", LockWait),
    ("в кешованому плані не повинен змінюватись тип результату", ConnectionLost),
    ("не вдалося розширити файл", InsufficientResources),
    ("недостатньо пам'яті", InsufficientResources),
    ("нестача спільної пам'яті", InsufficientResources),
    // Chinese.
    ("检测到死锁", Deadlock),
    ("由于锁超时", LockWait),
    ("由于语句执行超时", LockWait),
    ("已缓冲的计划不能改变结果类型", ConnectionLost),
    ("无法扩展文件", InsufficientResources),
    ("内存用尽", InsufficientResources),
    ("共享内存用尽", InsufficientResources),
];
