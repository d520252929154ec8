import Foundation
import KFCore
import KFTerms
import Support
import Testing

@Suite("Methods of a delegate")
struct DelegateMethodTests {
    @Test("Kingfisher's methods are named as never called")
    func kingfisher() throws {
        let sentences = KingfisherDelegate.uncalledMethods
        #expect(sentences.count == 8)
        #expect(
            sentences.first
                == "imageDownloader(_:willDownloadImageForURL:with:) is Kingfisher's; "
                + "its name is now imageDownloader(willDownloadImageFor:with:)")
        // Each row of the article's table is one or two of them.
        let article = try String(
            contentsOf: PackageRoot.url.appendingPathComponent("Sources/KFCore/KFCore.docc/FromKingfisher.md"),
            encoding: .utf8)
        let rows = article.split(separator: "\n").filter {
            $0.hasPrefix("| `imageDownloader(_:") || $0.hasPrefix("| `isValid")
        }
        #expect(rows.count == 6)
        for row in rows {
            let cells = row.components(separatedBy: " | ")
            let called = cells[1].components(separatedBy: "ImageDownloaderDelegate/")[1].components(separatedBy: "``")[
                0]
            for name in cells[0].dropFirst(2).components(separatedBy: ", ") {
                let sentence = "\(name.filter { $0 != "`" }) is Kingfisher's; its name is now \(called)"
                #expect(sentences.contains(sentence))
            }
        }
    }

    @Test("Methods with other types are named as never called")
    func types() {
        #expect(
            NearDelegate.uncalledMethods == [
                "imageDownloader(willDownloadImageFor:with:) has the types (RequestURL, Optional<ImageDownloadRequest>), "
                    + "but must have (RequestURL, ImageDownloadRequest)",
                "imageDownloader(didDownload:for:) has the types (Data, RequestURL, Optional<Data>), "
                    + "but must have (Array<UInt8>, RequestURL, Optional<Array<UInt8>>)",
            ])
    }

    @Test("A delegate whose methods are called has none to name")
    func called() {
        #expect(WholeDelegate.uncalledMethods.isEmpty)
        #expect(EmptyDelegate.uncalledMethods.isEmpty)
    }
}

private final class EmptyDelegate: ImageDownloaderDelegate {}

private final class WholeDelegate: ImageDownloaderDelegate {
    func imageDownloader(willDownloadImageFor url: RequestURL, with request: ImageDownloadRequest) {}
    func imageDownloader(
        didFinishDownloadingImageFor url: RequestURL, with response: ResponseFacts?, error: KingfisherError?
    ) {}
    func imageDownloader(didDownload data: [UInt8], for url: RequestURL) -> [UInt8]? { data }
    func imageDownloader(didDownload image: Image, for url: RequestURL, with response: ResponseFacts?) {}
    func isValidStatusCode(_ code: Int) -> Bool { code == 200 }
    func imageDownloader(didReceive response: ResponseFacts, for url: RequestURL) async -> ResponseDisposition {
        .allow
    }
}

private final class NearDelegate: ImageDownloaderDelegate {
    func imageDownloader(willDownloadImageFor url: RequestURL, with request: ImageDownloadRequest?) {}
    func imageDownloader(didDownload data: Data, for url: RequestURL) -> Data? { data }
    func isValidStatusCode(_ code: Int) -> Bool { code == 200 }
}

private struct URLResponse {}
private struct SessionDataTask {}

private final class KingfisherDelegate: ImageDownloaderDelegate {
    func imageDownloader(_ downloader: ImageDownloader, willDownloadImageForURL url: URL, with request: String?) {}
    func imageDownloader(
        _ downloader: ImageDownloader, didFinishDownloadingImageForURL url: URL, with response: URLResponse?,
        error: (any Error)?
    ) {}
    func imageDownloader(_ downloader: ImageDownloader, didDownload data: Data, for url: URL) -> Data? { data }
    func imageDownloader(_ downloader: ImageDownloader, didDownload data: Data, with task: SessionDataTask) -> Data? {
        data
    }
    func imageDownloader(
        _ downloader: ImageDownloader, didDownload image: Image, for url: URL, with response: URLResponse?
    ) {}
    func imageDownloader(_ downloader: ImageDownloader, didReceive response: URLResponse) async -> ResponseDisposition {
        .allow
    }
    func imageDownloader(
        _ downloader: ImageDownloader, didReceive response: URLResponse,
        completionHandler: @escaping (ResponseDisposition) -> Void
    ) { completionHandler(.allow) }
    func isValidStatusCode(_ code: Int, for downloader: ImageDownloader) -> Bool { code == 200 }
}
