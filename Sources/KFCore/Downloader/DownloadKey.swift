import KFStorage

/// Calls with equal keys get the same answer by one transfer.
struct DownloadKey: Hashable, Sendable {
    let downloader: ObjectIdentifier
    /// The URL that was asked for, whatever a modifier made of it.
    let url: String
    let request: Digest
    /// The limits of the transfer, and the check of its image.
    let terms: DownloadTerms
    let condition: RequestCondition?
    /// Bodies are written into files of this cache.
    let cache: ObjectIdentifier?
    let delegate: ObjectIdentifier?
    let responder: ObjectIdentifier?
    /// Another number for each call that shares with no other; else 0.
    let unique: UInt64

    static func == (a: DownloadKey, b: DownloadKey) -> Bool {
        a.request == b.request && a.unique == b.unique && a.url == b.url && a.downloader == b.downloader
            && a.cache == b.cache && a.delegate == b.delegate && a.responder == b.responder
            && a.condition == b.condition && a.terms.isAlike(b.terms)
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(request.prefix)
        hasher.combine(unique)
    }
}
