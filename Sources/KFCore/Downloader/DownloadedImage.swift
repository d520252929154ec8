import KFImaging
import KFStorage

/// What a transfer brought, checked: an image's bytes, whole.
struct DownloadedImage: Sendable {
    let bytes: PendingBytes
    let findings: ImageInspector.Findings
    /// Nil for what no server sent.
    let response: ResponseFacts?
    /// A redirect handler or a challenge responder without an identity had a say in it: it is for this call alone.
    var isPersonal = false
    /// The bytes as a file of the cache, where that was made already.
    var prepared: StagedObject?
    /// The flight that keeps other processes from requesting the key. It ends when the last reference goes.
    var flight: FlightHold?
    /// What processors made of the bytes, by their identifiers: once for each, whoever waits for it.
    let images = SharedWork<String, Image>()
    /// The same, encoded.
    let made = SharedWork<String, ProcessedImage>()
    /// Where the bytes were stored, by their keys.
    let stored = SharedWork<EntryKey, StoredFile?>()

    init(bytes: PendingBytes, _ findings: ImageInspector.Findings, response: ResponseFacts?) {
        self.bytes = bytes
        self.findings = findings
        self.response = response
    }

    var format: ImageFormat { findings.format }
    var info: ImageInfo? { findings.info }
}

/// How a server answered.
enum DownloadAnswer: Sendable {
    case image(DownloadedImage)
    /// 304, the answer to a condition. The flight keeps other processes from requesting the key.
    case unchanged(ResponseFacts, FlightHold?)
    /// Nothing was asked: another process has stored the image meanwhile.
    case stored
    /// A status without an image; a personal one was given to this caller alone.
    case refused(ResponseFacts, isPersonal: Bool)
}
