/// Tells work from work: what has equal keys is done once.
enum WorkKey: Hashable, Sendable {
    case download(DownloadKey)
    case read(ReadKey)
    case make(MakeKey)
}
