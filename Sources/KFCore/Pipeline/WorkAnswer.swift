/// What work brings to those who wait for it.
enum WorkAnswer: Sendable {
    case download(Result<DownloadAnswer, KingfisherError>)
    case made(MadeImage, Result<ProcessedImage, KingfisherError>)
}

/// Where an image that was made belongs.
struct MadeImage: Sendable {
    /// Where it is being stored.
    let orders: OrderBook
    /// The download that it is made of; nil for one that is made of a cached original.
    let downloaded: DownloadedImage?
}
