import KFCore
import Synchronization

/// A log of the downloader's events.
final class DownloadLog: ImageDownloaderDelegate {
    private let lines = Mutex<[String]>([])

    var text: String { lines.withLock { $0.joined(separator: ", ") } }

    func imageDownloader(willDownloadImageFor url: RequestURL, with request: ImageDownloadRequest) { note("start") }

    func imageDownloader(didReceive response: ResponseFacts, for url: RequestURL) async -> ResponseDisposition {
        note("status \(response.status)")
        return .allow
    }

    func imageDownloader(
        didFinishDownloadingImageFor url: RequestURL, with response: ResponseFacts?, error: KingfisherError?
    ) {
        note(error.map { "failed with \($0.errorCode)" } ?? "finished")
    }

    private func note(_ line: String) { lines.withLock { $0.append(line) } }
}
