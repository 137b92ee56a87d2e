# fetch HOST PORT: a connection with a time-out, which IO::Socket makes without blocking and then waits for with select.
use strict;
use warnings;
use IO::Socket::INET;

my ($host, $port) = @ARGV;
my $socket = IO::Socket::INET->new(PeerAddr => $host, PeerPort => $port, Proto => 'tcp', Timeout => 30) or die "connect: $@\n";
print {$socket} "GET /perl HTTP/1.0\r\n\r\n";
my @lines = <$socket>;
print $lines[-1];
